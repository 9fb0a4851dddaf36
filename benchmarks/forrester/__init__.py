"""The Forrester function: does calibration free a search that got stuck beside the minimum?"""
