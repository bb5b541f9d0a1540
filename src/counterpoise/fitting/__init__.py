"""What a fit is made of: terms and their regressors, priors, robust linear regression, identifiability."""
