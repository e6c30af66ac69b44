package conf

import "regexp"

// Modifier is how a location compares.
type Modifier uint8

// The modifiers of a location.
const (
	Prefix      Modifier = iota // no modifier
	Exact                       // =
	NoRegexp                    // ^~
	Regexp                      // ~
	RegexpFold                  // ~*
	NamedTarget                 // @name
)

// Place is the parsed address of a location.
type Place struct {
	Modifier Modifier
	Pattern  string         // the prefix, path, expression or @name
	Regexp   *regexp.Regexp // for the two that are expressions
}
