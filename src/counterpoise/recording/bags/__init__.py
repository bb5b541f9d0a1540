"""Bags: ROS 1, ROS 2 (sqlite3, MCAP) and bare MCAP, read without ROS."""
