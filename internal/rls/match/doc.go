// Package match finds the rule of a descriptor: files of rules are compiled to trees, once, and each descriptor of a request is
// walked down the tree of its domain. It counts nothing, and knows no store and no clock.
//
// A level is looked up by the key and the value joined with an underscore, then by the patterns in the order of the file, then by the
// key alone, as envoyproxy/ratelimit does. A rule applies only to a descriptor that ends at it.
package match
