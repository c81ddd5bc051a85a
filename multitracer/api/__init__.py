"""The functions behind `import multitracer`, which the command line and the pages call too."""
