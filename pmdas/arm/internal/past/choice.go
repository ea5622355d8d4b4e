package past

// Choice says of a name whether it has a row of its own or counts in a row that takes what is
// over a limit. Choices are recorded, so that a name does not change its row when the agent is
// started again.
type Choice struct {
	Kind Kind   `json:"k"`
	Name string `json:"n,omitempty"`
	User string `json:"u,omitempty"` // whose program gave the name first; "" in records of earlier versions
	Over bool   `json:"o,omitempty"` // it is over a limit; without a name, so are all new ones of the user
}

// Kind tells of what a name is.
type Kind int

// What has rows. The numbers are those of the record.
const (
	AppName Kind = iota
	TranName
	PairName
	Kinds // how many there are
)
