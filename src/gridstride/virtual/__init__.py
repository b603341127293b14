"""The virtual GPU: PTX in, results, counts and findings out."""
