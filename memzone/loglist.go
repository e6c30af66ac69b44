package memzone

// add hands out a log; there is one.
func (s *shard) add(h, life uint64) *logState {
	r := s.freeLog
	if r != 0 {
		s.freeLog = s.logs[r-1].newer
	} else {
		s.usedLogs++
		r = ref(s.usedLogs)
	}
	l := &s.logs[r-1]
	head := &s.heads[h>>8%uint64(len(s.heads))]
	*l = logState{h: h, life: life, chain: *head}
	*head = r
	s.append(l)
	return l
}

// free takes a log back, with its cells.
func (s *shard) free(l *logState) {
	r := s.number(l)
	p := &s.heads[l.h>>8%uint64(len(s.heads))]
	for *p != r {
		p = &s.logs[*p-1].chain
	}
	*p = l.chain
	s.drop(l, l.n)
	s.unlink(l)
	*l = logState{newer: s.freeLog}
	s.freeLog = r
}

// append puts l at the new end of the list.
func (s *shard) append(l *logState) {
	r := s.number(l)
	if l.older, l.newer = s.newest, 0; s.newest != 0 {
		s.logs[s.newest-1].newer = r
	} else {
		s.oldest = r
	}
	s.newest = r
}

// unlink takes l out of the list.
func (s *shard) unlink(l *logState) {
	if l.older != 0 {
		s.logs[l.older-1].newer = l.newer
	} else {
		s.oldest = l.newer
	}
	if l.newer != 0 {
		s.logs[l.newer-1].older = l.older
	} else {
		s.newest = l.older
	}
}
