package pair

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// aligned gives words on a 16-byte boundary.
func aligned() *Words {
	m := make([]Words, 2)
	if uintptr(unsafe.Pointer(&m[0]))&15 != 0 {
		// In bounds: 8 bytes into 32, 16 bytes long.
		return (*Words)(unsafe.Add(unsafe.Pointer(&m[0]), 8))
	}
	return &m[0]
}

func TestCASComparesBothWords(t *testing.T) {
	p := aligned()
	for _, c := range []struct {
		name           string
		o0, o1         uint64
		swapped        bool
		after0, after1 uint64
	}{
		{"first differs", 1, 2, false, 5, 2},
		{"second differs", 5, 3, false, 5, 2},
		{"equal", 5, 2, true, 9, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.W0, p.W1 = 5, 2
			if got := CAS(p, c.o0, c.o1, 9, 8); got != c.swapped || p.W0 != c.after0 || p.W1 != c.after1 {
				t.Errorf("got %v %v, want %v {%d %d}", got, *p, c.swapped, c.after0, c.after1)
			}
		})
	}
}

func TestCASLosesNothing(t *testing.T) {
	const workers, adds = 8, 20000
	p := aligned()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { // ends after its adds
			for range adds {
				for {
					a, b := atomic.LoadUint64(&p.W0), atomic.LoadUint64(&p.W1)
					if CAS(p, a, b, a+4, b+2) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	if p.W0 != 4*workers*adds || p.W1 != 2*workers*adds {
		t.Errorf("got %v, want {%d %d}", *p, 4*workers*adds, 2*workers*adds)
	}
}

func BenchmarkCAS(b *testing.B) {
	p := aligned()
	for b.Loop() {
		CAS(p, p.W0, p.W1, p.W0, p.W1+1)
	}
}
