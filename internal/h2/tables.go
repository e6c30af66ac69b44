package h2

import (
	"strings"

	"golang.org/x/net/http2/hpack"
)

// staticTable is the table that HPACK begins with, as hpack has it.
var staticTable = buildStaticTable()

func buildStaticTable() (t [61]entry) {
	for i := range t {
		fields, err := hpack.NewDecoder(0, nil).DecodeFull([]byte{0x80 | byte(i+1)})
		if err != nil || len(fields) != 1 {
			panic("hpack has no static table")
		}
		t[i] = entry{fields[0].Name, fields[0].Value}
	}
	return t
}

// step is what four bits of Huffman's code do in a state.
type step struct {
	next  int16 // the state behind them; -1: no code begins so
	emits bool
	sym   byte
}

// steps is Huffman's code, by state and four bits. A state is a place in the tree of codes, 0 the root. padding tells which
// states may stand at the end of a string: those that only ones lead to.
var steps, padding = buildSteps()

func buildSteps() (table [][16]step, padding []bool) {
	// The tree, from hpack: eight times a symbol is as many bytes as its code has bits.
	type node struct {
		child [2]int16
		sym   int16 // -1: no leaf
	}
	tree := []node{{[2]int16{-1, -1}, -1}}
	for sym := range 256 {
		eight := strings.Repeat(string([]byte{byte(sym)}), 8)
		code := hpack.AppendHuffmanString(nil, eight)
		at := int16(0)
		for bit := range len(code) {
			side := code[bit/8] >> (7 - bit%8) & 1
			if tree[at].child[side] < 0 {
				tree = append(tree, node{[2]int16{-1, -1}, -1})
				tree[at].child[side] = int16(len(tree) - 1)
			}
			at = tree[at].child[side]
		}
		tree[at].sym = int16(sym)
	}
	table, padding = make([][16]step, len(tree)), make([]bool, len(tree))
	for state := range tree {
		for bits := range 16 {
			s := step{next: int16(state)}
			for shift := 3; shift >= 0 && s.next >= 0; shift-- {
				if s.next = tree[s.next].child[bits>>shift&1]; s.next >= 0 && tree[s.next].sym >= 0 {
					s.emits, s.sym, s.next = true, byte(tree[s.next].sym), 0
				}
			}
			table[state][bits] = s
		}
	}
	for at := int16(0); at >= 0; at = tree[at].child[1] {
		padding[at] = true
	}
	return table, padding
}

// appendHuffman appends the text that a string in Huffman's code stands for. It reports false for one that is none.
func appendHuffman(dst, code []byte) ([]byte, bool) {
	state := int16(0)
	for _, b := range code {
		for _, bits := range [2]byte{b >> 4, b & 15} {
			s := &steps[state][bits]
			if s.next < 0 {
				return dst, false
			}
			if s.emits {
				dst = append(dst, s.sym)
			}
			state = s.next
		}
	}
	return dst, padding[state]
}
