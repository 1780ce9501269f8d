"""The pull to a frozen reference: estimators of KL(pi_theta || pi_ref) from sampled tokens (Schulman, 2020)."""
