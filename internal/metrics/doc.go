// Package metrics writes what a running gateway tells of itself as Prometheus reads it. It keeps nothing: each time it is asked it reads
// a Snapshot. All names stand in one table (describe.go); none has a key of a limit in it, so the number of series depends on the
// configuration alone. docs/metrics.md tells of each.
package metrics
