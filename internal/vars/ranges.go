package vars

import (
	"fmt"
	"slices"
)

// ranges collects the rows of a geo block in ranges mode. They are kept in blocks of 65,536 addresses, as in
// ngx_http_geo_module.c, because that decides which overlaps nginx takes: within each block on its own, a later range may
// lie inside an earlier one, and nothing else.
type ranges struct {
	blocks map[uint32][]span
}

// span is a range inside a block, both ends included.
type span struct {
	first, last uint16
	value       string
}

// add gives a range its value. It returns the old value of the range where it was there before; fault is an overlap.
func (g *ranges) add(text string, first, last uint32, value string) (old string, had bool, fault string) {
	eachBlock(first, last, func(block uint32, s span) bool {
		s.value = value
		list := g.blocks[block]
		i := holder(list, s)
		switch {
		case i < 0:
			at, _ := slices.BinarySearchFunc(list, s, func(a, b span) int { return int(a.first) - int(b.first) })
			list = slices.Insert(list, at, s)
		case list[i].first == s.first && list[i].last == s.last:
			old, had = list[i].value, true
			list[i].value = value
		case list[i].first <= s.first && s.last <= list[i].last:
			list = slices.Replace(list, i, i+1, around(list[i], s)...)
		default:
			fault = overlap(text, block, list[i])
			return false
		}
		g.blocks[block] = list
		return true
	})
	return old, had, fault
}

// holder returns the last span that shares an address with s, or -1.
func holder(list []span, s span) int {
	for i := len(list) - 1; i >= 0 && s.first <= list[i].last; i-- {
		if s.last >= list[i].first {
			return i
		}
	}
	return -1
}

// around is outer with s cut out of it and put in.
func around(outer, s span) []span {
	var out []span
	if outer.first < s.first {
		out = append(out, span{outer.first, s.first - 1, outer.value})
	}
	out = append(out, s)
	if s.last < outer.last {
		out = append(out, span{s.last + 1, outer.last, outer.value})
	}
	return out
}

func overlap(text string, block uint32, s span) string {
	return fmt.Sprintf(`range "%s" overlaps "%d.%d.%d.%d-%d.%d.%d.%d"`, text,
		block>>8, block&255, s.first>>8, s.first&255, block>>8, block&255, s.last>>8, s.last&255)
}

// remove takes out exactly this range, block by block, and reports whether each block had it.
func (g *ranges) remove(first, last uint32) bool {
	all := true
	eachBlock(first, last, func(block uint32, s span) bool {
		list := g.blocks[block]
		i := slices.IndexFunc(list, func(o span) bool { return o.first == s.first && o.last == s.last })
		if i < 0 {
			all = false
		} else {
			g.blocks[block] = slices.Delete(list, i, i+1)
		}
		return true
	})
	return all
}

// eachBlock visits the part of a range in each block until visit returns false.
func eachBlock(first, last uint32, visit func(block uint32, s span) bool) {
	for block := first >> 16; block <= last>>16; block++ {
		s := span{0, 0xffff, ""}
		if block == first>>16 {
			s.first = uint16(first)
		}
		if block == last>>16 {
			s.last = uint16(last)
		}
		if !visit(block, s) {
			return
		}
	}
}

// networks makes the steps; what no range holds has the value fallback.
func (g *ranges) networks(fallback string) *networks {
	p := newPrefixes()
	none := p.index(fallback)
	blocks := make([]uint32, 0, len(g.blocks))
	for b := range g.blocks {
		blocks = append(blocks, b)
	}
	slices.Sort(blocks)
	out := []step4{{0, none}}
	change := func(from, value uint32) {
		top := &out[len(out)-1]
		switch {
		case top.from == from:
			top.value = value
		case top.value != value:
			out = append(out, step4{from, value})
		}
	}
	for _, b := range blocks {
		for _, s := range g.blocks[b] {
			change(b<<16|uint32(s.first), p.index(s.value))
			if next := b<<16 | uint32(s.last) + 1; next != 0 {
				change(next, none)
			}
		}
	}
	return &networks{values: p.values, v4: out}
}
