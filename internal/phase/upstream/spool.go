package upstream

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// spool keeps an answer that its client takes more slowly than the upstream sends it, in memory and beyond that in a file, so
// that the upstream is free as soon as it has sent all (ngx_event_pipe). It costs nothing before the client has kept an
// answer waiting for a while: then its goroutine reads, and the serving one takes from it what it sends.
//
//	upstream --run--> buf[r:w] --spill, when full--> file[from:to] --take--> client
//	                     +----------take, while no file is in use----------^
//
// What is in the file is older than what is in memory.
type spool struct {
	x     *exchange
	timer *time.Timer // starts run

	// Of the serving goroutine.
	attached bool // the answer may be spooled
	on       bool // run has begun, or is about to; it ends before stop returns
	began    limitgate.Time
	patience time.Duration // how much longer the client may keep the answer waiting

	halted atomic.Bool // stop wants run to end
	wait   waiter      // of run

	mu     sync.Mutex // guards what follows, but for buf[w:] while run reads into it and buf[r:w] while it is moving
	came   sync.Cond  // for take: something came, or nothing will
	room   sync.Cond  // for run: something was taken, or is not wanted
	ready  bool       // run has taken over what the exchange had read
	over   bool       // run has ended
	moving bool       // buf[r:w] is being written to the file
	long   *[]byte    // the set's, while buf is it
	buf    []byte
	r, w   int
	file   *os.File
	from   int64
	to     int64
	fault  *fault // why the answer is not whole
}

var _ request.Staller = (*spool)(nil)

// clientPatience is how long a client may keep an answer waiting, all in all, before its upstream is read ahead. A client that
// is nearly as fast as the upstream is so served without a detour.
const clientPatience = 20 * time.Millisecond

func (s *spool) init(x *exchange) {
	s.x = x
	s.came.L, s.room.L = &s.mu, &s.mu
	s.wait = waiter{now: x.set.now, left: func() bool { return x.interrupted() || s.halted.Load() }}
}

// attach lets the spool know of the waits of a response.
func (s *spool) attach() {
	s.attached, s.patience = true, clientPatience
	s.x.r.Staller = s
}

// Stall implements request.Staller: the client keeps the serving goroutine waiting.
func (s *spool) Stall() {
	if s.on {
		return
	}
	if s.x.pump.over() {
		s.x.endPump()
	}
	s.x.setURL() // lines that are logged from now on may come from two goroutines
	s.began = s.x.set.now()
	if s.timer == nil {
		// Owned by the exchange: run ends with the answer, with a failure, or when stop ends it.
		s.timer = time.AfterFunc(s.patience, s.run)
		return
	}
	s.timer.Reset(s.patience)
}

// Resume implements request.Staller.
func (s *spool) Resume() {
	if s.on {
		return
	}
	if s.on = !s.timer.Stop(); !s.on {
		s.patience = max(0, s.patience-time.Duration(s.x.set.now()-s.began))
	}
	s.began = 0
}

// take gives out what comes next, and how much that is; 0 where nothing is left. With wait false it reports false where nothing
// is here yet.
func (s *spool) take(b []byte, wait bool) (n int, came bool) {
	if most := s.x.h.buffers.busy; len(b) > most {
		b = b[:most]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case !s.ready:
		case s.from < s.to:
			return s.takeFile(b), true
		case s.r < s.w && !s.moving:
			n = copy(b, s.buf[s.r:s.w])
			s.r += n
			s.room.Signal()
			if s.over && s.r == s.w {
				s.freeMemory()
			}
			return n, true
		case s.over:
			return 0, true
		}
		if !wait {
			return 0, false
		}
		s.came.Wait()
	}
}

// takeFile is take from the file. s is locked before and after, but not meanwhile.
func (s *spool) takeFile(b []byte) int {
	b = b[:min(int64(len(b)), s.to-s.from)]
	at := s.from
	s.mu.Unlock()
	n, err := s.file.ReadAt(b, at)
	s.mu.Lock()
	if n == 0 {
		s.fault = &fault{level: errorlog.Crit, log: `pread() "` + s.file.Name() + `" failed (` + errorlog.Errno(err) + ")"}
		s.from, s.r, s.w = s.to, 0, 0
		s.halted.Store(true)
	}
	s.from += int64(n)
	if s.from == s.to {
		s.room.Signal()
	}
	return n
}

// stop ends run, if it has not ended by itself, and gives back what the spool holds. It may be called again.
func (s *spool) stop() {
	if s.attached {
		s.attached = false
		s.x.r.Staller = nil
	}
	if s.began != 0 { // a panic ended the wait
		s.Resume()
	}
	if !s.on {
		return
	}
	s.halted.Store(true)
	s.x.interruptActive()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.Signal()
	for !s.over {
		s.came.Wait()
	}
	s.freeMemory()
	if s.file != nil {
		_ = s.file.Close() // it has no name, and is not wanted any more
		s.file = nil
	}
}

// reset readies the spool for another answer. It has been stopped.
func (s *spool) reset() {
	s.on, s.ready, s.over, s.moving, s.fault = false, false, false, false, nil
	s.r, s.w, s.from, s.to = 0, 0, 0, 0
	s.halted.Store(false)
}

// freeMemory gives back the memory. s is locked, and run does not use it any more.
func (s *spool) freeMemory() {
	if s.long != nil {
		s.x.set.bodies.Put(s.long)
		s.long = nil
	}
	s.buf, s.r, s.w = nil, 0, 0
}

// wake ends a wait of run for room or for its pace.
func (s *spool) wake() {
	s.mu.Lock()
	s.room.Signal()
	s.mu.Unlock()
}
