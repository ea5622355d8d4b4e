package pmda

// complain writes a line that the present client has caused. Each request that is refused
// can cause one. So the lines of each user are limited, and those of all clients together
// whose user pmcd does not know.
func (s *Server) complain(format string, args ...any) {
	uid := -1
	if s.client != nil {
		uid = s.client.UID
	}
	s.complaints.Printf(uid, format, args...)
}
