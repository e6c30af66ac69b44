// Package config reads the rules of a rate limit service: the YAML of envoyproxy/ratelimit, as it is, into typed trees that
// know where each part stands. It decides nothing about requests, and opens no file: texts come in, trees or errors go out.
//
// What envoyproxy/ratelimit refuses is an error here, with the file, the line, what is wrong and what would be right. What it
// passes over in silence though it can't be meant, such as a key in a place where nobody reads it, is a Warning: the file is good
// and the mistake is told.
package config
