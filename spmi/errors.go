package spmi

import "strconv"

// Code is an error number of the SPMI.
type Code int

// The numbers that this package uses, as the SPMI's List of Error Codes gives them.
const (
	CodeInvalidCx   Code = 180 // the context, or its parent, does not exist
	CodeNoShmPtr    Code = 181 // there is no directory for shared memory
	CodeShmemFailed Code = 182 // no access to shared memory
	CodeInstBusy    Code = 184 // a context has others below it
	CodeNotInit     Code = 186 // the supplier is closed
	CodeBadArgument Code = 187 // a name, path, number or type is not allowed
	CodeDuplicate   Code = 193 // the name, path or number is taken
	CodeNoMemory    Code = 194 // no room left
	CodeDeleted     Code = 196 // the context was removed
)

var codeText = map[Code]string{
	CodeInvalidCx:   "the referenced context does not exist",
	CodeNoShmPtr:    "no directory for shared memory",
	CodeShmemFailed: "no access to shared memory",
	CodeInstBusy:    "the context has contexts below it",
	CodeNotInit:     "the supplier is closed",
	CodeBadArgument: "not allowed",
	CodeDuplicate:   "already exists",
	CodeNoMemory:    "no room left in shared memory",
	CodeDeleted:     "the context was removed",
}

// String returns what the number means.
func (c Code) String() string {
	if s, ok := codeText[c]; ok {
		return s
	}
	return "SPMI error " + strconv.Itoa(int(c))
}

// Error is an error with the SPMI's number. Match with errors.Is and the values below,
// or with errors.As for the details.
type Error struct {
	Code Code
	Path string // of the context or statistic, if it is about one
	Text string // what is wrong, if the code does not say it all
	Err  error  // the cause, if there is one
}

func (e *Error) Error() string {
	s := "spmi: "
	if e.Path != "" {
		s += e.Path + ": "
	}
	if e.Text != "" {
		s += e.Text
	} else {
		s += e.Code.String()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + " (" + strconv.Itoa(int(e.Code)) + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an error with the same number.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Errors to match with errors.Is.
var (
	ErrInvalidCx   = &Error{Code: CodeInvalidCx}
	ErrNoShmPtr    = &Error{Code: CodeNoShmPtr}
	ErrShmemFailed = &Error{Code: CodeShmemFailed}
	ErrInstBusy    = &Error{Code: CodeInstBusy}
	ErrNotInit     = &Error{Code: CodeNotInit}
	ErrBadArgument = &Error{Code: CodeBadArgument}
	ErrDuplicate   = &Error{Code: CodeDuplicate}
	ErrNoMemory    = &Error{Code: CodeNoMemory}
	ErrDeleted     = &Error{Code: CodeDeleted}
)

func fail(code Code, path, text string) error { return &Error{Code: code, Path: path, Text: text} }
