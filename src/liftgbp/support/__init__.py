"""What every room may use: errors, limits, files, processes, arrays of integers.

Takes and gives plain values; imports no other room.
"""
