"""Pictures that kernels compute: scenes, and PNG files of them."""
