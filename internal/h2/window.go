package h2

// MaxWindow is how far a window may open; DefaultWindow is where one begins unless SETTINGS say otherwise.
const (
	MaxWindow     = 1<<31 - 1
	DefaultWindow = 1<<16 - 1
)

// Window is how many bytes of DATA one side may still send, on a connection or a stream. It is below zero when SETTINGS have
// made it smaller than what is under way. The zero value is a closed window; it is not safe for concurrent use.
type Window struct{ n int64 }

// NewWindow returns a window of n bytes.
func NewWindow(n uint32) Window { return Window{int64(n)} }

// Room is how much may be sent: never below zero.
func (w *Window) Room() int { return int(max(0, w.n)) }

// Size is the window itself, which may be below zero.
func (w *Window) Size() int64 { return w.n }

// Take uses n bytes, which Room has to allow where the caller decides; of what the peer sent it reports whether the peer was
// allowed to, and takes nothing otherwise.
func (w *Window) Take(n int) bool {
	if int64(n) > w.n {
		return false
	}
	w.n -= int64(n)
	return true
}

// Add opens the window by n bytes, and reports whether it may be that large: it is not changed otherwise, and the peer has
// violated flow control.
func (w *Window) Add(n uint32) bool {
	if w.n+int64(n) > MaxWindow {
		return false
	}
	w.n += int64(n)
	return true
}

// Shift moves a stream's window when SETTINGS change where windows begin, from one size to another. It reports whether the
// window may be that large.
func (w *Window) Shift(from, to uint32) bool {
	n := w.n + int64(to) - int64(from)
	if n > MaxWindow {
		return false
	}
	w.n = n
	return true
}

// Inflow is the window that the other side sends into, and when to tell it that there is room again. The zero value lets nothing
// in; it is not safe for concurrent use.
type Inflow struct {
	open Window
	size int64 // what the window is to be when all that came is used up
	used int64 // bytes that were used up and not told of
}

// NewInflow returns a window that lets n bytes in at a time.
func NewInflow(n uint32) Inflow { return Inflow{open: NewWindow(n), size: int64(n)} }

// Came notes n bytes, framing of the frame included, and reports whether the other side was allowed to send them.
func (f *Inflow) Came(n int) bool { return f.open.Take(n) }

// Used notes that n of the bytes that came need no room any more. It returns what to say in a WINDOW_UPDATE, 0 as long as it is
// not worth one: less than half the window.
func (f *Inflow) Used(n int) uint32 {
	f.used += int64(n)
	if f.used == 0 || f.used < f.size/2 {
		return 0
	}
	return f.tell()
}

// Grow makes the window n bytes, where it is smaller, and returns what to say in a WINDOW_UPDATE, or 0.
func (f *Inflow) Grow(n uint32) uint32 {
	if int64(n) <= f.size {
		return 0
	}
	f.used += int64(n) - f.size
	f.size = int64(n)
	return f.tell()
}

// Size is what the window is to be when all that came is used up.
func (f *Inflow) Size() int64 { return f.size }

func (f *Inflow) tell() uint32 {
	n := uint32(f.used)
	if !f.open.Add(n) {
		return 0
	}
	f.used = 0
	return n
}
