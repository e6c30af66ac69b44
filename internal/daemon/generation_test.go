package daemon

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate/internal/request"
)

// fakeProgram counts what it serves and reports a request that begins after its end.
type fakeProgram struct {
	served atomic.Int64
	closed atomic.Bool
	late   atomic.Int64
}

func (p *fakeProgram) Head(*request.Conn) *request.HeadSettings { return &request.HeadSettings{} }

func (p *fakeProgram) Serve(*request.Request) {
	if p.closed.Load() {
		p.late.Add(1)
	}
	p.served.Add(1)
}

func isEnded(g *generation) bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

func TestGenerationEndsWithItsLastRequest(t *testing.T) {
	var s source
	first, second := newGeneration(&fakeProgram{}, nil), newGeneration(&fakeProgram{}, nil)
	s.swap(first)
	a, b := s.Acquire(), s.Acquire()
	if old := s.swap(second); old != first {
		t.Fatalf("swap returned %p, want the first generation %p", old, first)
	}
	if s.Acquire() != second {
		t.Error("a request after the swap got the old generation")
	}
	s.Release(a)
	if isEnded(first) {
		t.Error("ended with a request still running")
	}
	s.Release(b)
	if !isEnded(first) {
		t.Error("not ended after its last request")
	}
	if first.begin() {
		t.Error("a request began in an ended generation")
	}
	if isEnded(second) {
		t.Error("the running generation ended")
	}
}

func TestEveryRequestRunsInALivingGeneration(t *testing.T) {
	const workers, requests, swaps = 4, 20000, 300
	var s source
	programs := []*fakeProgram{{}}
	s.swap(newGeneration(programs[0], nil))
	var wg, ends sync.WaitGroup
	for range workers {
		wg.Add(1)
		// Owned by the test, ends after its requests.
		go func() {
			defer wg.Done()
			for range requests {
				p := s.Acquire()
				p.Serve(nil)
				s.Release(p)
			}
		}()
	}
	for range swaps {
		next := &fakeProgram{}
		programs = append(programs, next)
		old := s.swap(newGeneration(next, nil))
		ends.Add(1)
		// Owned by the test, ends with the generation.
		go func() {
			defer ends.Done()
			<-old.ended
			old.Program.(*fakeProgram).closed.Store(true)
		}()
	}
	wg.Wait()
	ends.Wait()
	var served, late int64
	for _, p := range programs {
		served += p.served.Load()
		late += p.late.Load()
	}
	if served != workers*requests || late != 0 {
		t.Errorf("served %d, %d of them after the end, want %d and 0", served, late, workers*requests)
	}
}

func TestAcquireAndReleaseAllocateNothing(t *testing.T) {
	var s source
	s.swap(newGeneration(&fakeProgram{}, nil))
	if n := testing.AllocsPerRun(1000, func() { s.Release(s.Acquire()) }); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}
