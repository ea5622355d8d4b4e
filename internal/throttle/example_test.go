package throttle_test

import (
	"errors"
	"log"
	"os"

	"github.com/pcp-rtime/rtime/internal/throttle"
)

func Example() {
	logger := log.New(os.Stderr, "", 0)
	uid, err := uint32(65534), errors.New("the segment is too large")

	refusals := throttle.Log[uint32]{Print: func(line string) { logger.Print(line) }}
	refusals.Printf(uid, "refused: %v", err)
}
