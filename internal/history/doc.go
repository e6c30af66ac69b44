// Package history stands behind the daemon: it keeps the configurations that became active, so that an operator can go back to one,
// and judges whether what runs since is worse than what ran before. It reads no configuration, runs nothing and knows no clock: whoever
// calls says when and what.
//
// A folder of mode 0700 holds a file of mode 0600 for each configuration, NUMBER.active, and for each reload that was refused,
// NUMBER.refused. A file is written beside and linked to its name when all of it is on the disk, so that none is ever half there, and
// none is written over. Its first line names the format, its version and a checksum; one that does not fit is skipped and told.
// Configurations may hold secrets: they are nowhere else.
package history
