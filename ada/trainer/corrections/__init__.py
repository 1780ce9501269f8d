"""Sampler and trainer compute slightly different laws; a correction weighs each token's loss by what pi_old / pi_sampler says of it."""
