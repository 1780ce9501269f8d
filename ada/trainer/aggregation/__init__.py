"""From losses of tokens to the loss of an update: each method gives every token its weight, summed over all micro-batches and ranks."""
