// Package arch holds the structure of the code as tests: who may import whom, and the habits that a reviewer should not
// have to look for. It has tests only.
package arch
