// Package redact takes what is secret out of a configuration, so that it can be sent to who helps. It does not look for secrets: it keeps
// what is known to be harmless, by the directive, and leaves out all else. What is left has the directives and the blocks of the
// original, files that were included in their place, and no comments. It is for reading, and can't be run.
package redact
