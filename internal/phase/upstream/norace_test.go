//go:build !race

package upstream

const raced = false
