package vars

import (
	"encoding/binary"
	"math"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
)

// splitting is a compiled split_clients block.
type splitting struct {
	source *Template
	shares []share
}

// share gives its value to hashes below a bound that no share before it took.
type share struct {
	below uint64
	value []byte
}

// eval is an evaluator. What no share takes has the empty value.
func (s *splitting) eval(r *request.Request, dst []byte) (out, lasting []byte) {
	n := len(dst)
	dst = s.source.Append(r, dst)
	h := uint64(murmur2(dst[n:]))
	dst = dst[:n]
	for i := range s.shares {
		if h < s.shares[i].below {
			return dst, s.shares[i].value
		}
	}
	return dst, nil
}

// compileSplit compiles the block of a split_clients directive. Rows that are wrong are reported and left out.
func (t *Table) compileSplit(d *conf.Directive, def *definition, errs *conf.Errors) {
	s := &splitting{source: t.CompileWord(d.Args[0], errs)}
	bound := uint64(0)
	for _, row := range d.Block.Directives {
		r, ok := conf.ReadShare(row, errs)
		switch {
		case !ok:
			continue
		case r.Parts == 0:
			bound = 1 << 32
		default:
			bound += uint64(r.Parts) * math.MaxUint32 / 10_000 // each rounded down by itself, as in nginx
		}
		s.shares = append(s.shares, share{bound, []byte(r.Value)})
	}
	if s.source != nil {
		def.eval = s.eval
	}
}

// murmur2 is Austin Appleby's MurmurHash2 of 32 bits with seed 0, which nginx splits by.
func murmur2(p []byte) uint32 {
	const m = 0x5bd1e995
	h := uint32(len(p))
	for ; len(p) >= 4; p = p[4:] {
		k := binary.LittleEndian.Uint32(p) * m
		h = h*m ^ (k^k>>24)*m
	}
	if len(p) > 0 {
		for i := len(p) - 1; i >= 0; i-- {
			h ^= uint32(p[i]) << (8 * i)
		}
		h *= m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
