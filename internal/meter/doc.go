// Package meter counts what the limits of a process decide, by zone: outcomes, delays, and the keys that come and are limited most
// (package top). It is written to on the path of requests, without locks and without garbage, and read by whoever shows it; it knows
// nothing of either, and of no name but the zones'.
package meter
