// Package story plays what an operator does with limitgate from the first alert to a limit that holds, with real processes and the real
// commands, and holds docs/story.md against it. It has tests only.
package story
