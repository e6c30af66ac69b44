package h1

import "github.com/limitgate/limitgate/internal/header"

// This file reads parts of a head that come one by one, as a log has them. What it takes, it takes as Parse does; what it
// does not take only Parse can judge.

// GivenTarget returns path and arguments of a target that begins with a slash. They are pieces of target, the path of one that
// must be normalised is appended to dst. It reports false for a target that is another one, or that Parse may refuse.
func GivenTarget(dst, target []byte, keepSlashes bool) (path, args []byte, given bool) {
	if len(target) == 0 || target[0] != '/' {
		return nil, nil, false
	}
	query, complex := -1, false
	for i, c := range target {
		switch k := uriClass[c]; {
		case k == uriPlain:
		case k >= uriEnd:
			return nil, nil, false
		case k == uriHash:
			complex = true
		case query >= 0:
		case k == uriQuery:
			query = i
		case k == uriPercent, i > 0 && target[i-1] == '/':
			complex = true
		}
	}
	switch {
	case complex:
		path, args, given = appendPath(dst, target, keepSlashes)
	case query >= 0:
		path, args, given = target[:query], target[query+1:], true
	default:
		path, given = target, true
	}
	if len(args) == 0 {
		args = nil
	}
	return path, args, given
}

// GivenHost appends to dst the name of a Host field: in lower case, without port and end dot.
func GivenHost(dst, host []byte) (name []byte, given bool) {
	h, given := parseHost(host)
	if !given {
		return dst, false
	}
	return header.AppendLower(dst, host[:h.Len]), true
}

// GivenMethod tells whether a method is one that Parse takes.
func GivenMethod(method []byte) bool {
	for _, c := range method {
		if (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	switch lookupMethod(method) {
	case methodConnect, methodTrace:
		return false
	}
	return len(method) > 0
}

// GivenValue tells whether a value stands in a field as it is.
func GivenValue(value []byte) bool {
	if n := len(value); n > 0 && (value[0] == ' ' || value[n-1] == ' ') {
		return false
	}
	return indexControl(value, 0) == len(value)
}
