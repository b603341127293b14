"""The smallest complete pipeline: handwritten digits to a classifier. Read data, model, fit, evaluate in this order."""
