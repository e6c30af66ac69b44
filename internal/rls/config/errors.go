package config

import (
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file. Line 0 is the file as a whole.
type Pos struct {
	File      string
	Line, Col int
}

// String gives file:line:col.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Code names what is wrong, for programs.
type Code string

// The codes.
const (
	YAMLSyntax         Code = "yaml_syntax"
	NotAMap            Code = "not_a_map"
	KeyNotText         Code = "key_not_text"
	UnknownKey         Code = "unknown_key"
	ListOfNonMaps      Code = "list_of_non_maps"
	BadValue           Code = "bad_value"
	TooDeep            Code = "too_deep"
	EmptyDomain        Code = "empty_domain"
	EmptyKey           Code = "empty_key"
	DuplicateDomain    Code = "duplicate_domain"
	DuplicateRule      Code = "duplicate_descriptor"
	BadUnit            Code = "bad_unit"
	UnlimitedWithUnit  Code = "unlimited_with_unit"
	EmptyReplaces      Code = "empty_replaces"
	ReplacesSelf       Code = "replaces_self"
	ShareWithoutStar   Code = "share_threshold_without_wildcard"
	BadMetadata        Code = "bad_metadata"
	BadAlgorithm       Code = "bad_algorithm"
	BadFail            Code = "bad_fail"
	Misplaced          Code = "misplaced_key"     // a Warning
	Twice              Code = "key_twice"         // a Warning
	SeveralDocuments   Code = "several_documents" // a Warning
	NeverReached       Code = "never_reached"     // a Warning
	ConcurrencyAndRate Code = "concurrency_with_rate"
)

// Error is one thing that is wrong with a file.
type Error struct {
	Pos  Pos
	Code Code
	Text string // what is wrong
	Help string // what would be right; may be empty
}

// Error gives the line that names the place and what is wrong, and what would be right behind it.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Pos, e.Text)
	if e.Help != "" {
		s += "; " + e.Help
	}
	return s
}

// Errors are all that is wrong, in the order of the files.
type Errors []*Error

// Error gives a line for each.
func (l Errors) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is the list as an error; nil where it is empty.
func (l Errors) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// First is the mistake that envoyproxy/ratelimit would meet first: keys are looked at before values, and both before what they mean.
func (l Errors) First() *Error {
	return slices.MinFunc(l, func(a, b *Error) int { return a.Code.stage() - b.Code.stage() })
}

// stage orders codes by when they are met.
func (c Code) stage() int {
	switch {
	case !c.Form():
		return 2
	case c == BadValue:
		return 1
	}
	return 0
}

// Form tells whether the code is about the form of a file, which is looked at before what it says.
func (c Code) Form() bool {
	switch c {
	case YAMLSyntax, NotAMap, KeyNotText, UnknownKey, ListOfNonMaps, BadValue, TooDeep:
		return true
	}
	return false
}
