"""The numbers and pictures of lessons, each made by running something."""
