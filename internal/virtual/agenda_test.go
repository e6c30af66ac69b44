package virtual

import (
	"math/rand/v2"
	"sort"
	"testing"
)

// someone is a visitor that nobody asks.
type someone struct{}

func (someone) Visit() *Visit { return nil }
func (someone) Ended() error  { return nil }

// TestAgendaInOrder holds the heap against sorting.
func TestAgendaInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var a agenda
		var list []task
		for i := range r.IntN(50) {
			k := task{due: r.Int64N(9), serial: uint64(i)}
			if r.IntN(2) == 0 {
				k.visitor = someone{}
			}
			a.Push(k)
			list = append(list, k)
		}
		sort.Slice(list, func(i, j int) bool { return list[i].Before(&list[j]) })
		for i, want := range list {
			if got := a.Pop(); got.serial != want.serial || got.due != want.due {
				t.Fatalf("task %d: got %+v, want %+v", i, got, want)
			}
		}
	}
}
