package pmapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Text returns the help text of a metric, pcp.TextOneLine or pcp.TextHelp; see
// pmLookupText(3). If there is no long text, it returns the one-line text. The error wraps
// pcp.ErrText if there is neither.
func (r requests) Text(ctx context.Context, id pcp.PMID, level pcp.TextType) (string, error) {
	return r.text(ctx, fmt.Sprintf("help for metric %v", id), uint32(id), pcp.TextPMID, level)
}

// InDomText returns the help text of an instance domain, as Text does for a metric.
func (r requests) InDomText(ctx context.Context, d pcp.InDom, level pcp.TextType) (string, error) {
	return r.text(ctx, fmt.Sprintf("help for instance domain %v", d), uint32(d), pcp.TextInDom, level)
}

func (r requests) text(ctx context.Context, op string, ident uint32, of, level pcp.TextType) (string, error) {
	var answer pdu.Text
	err := r.ask(ctx, op, &pdu.TextReq{Ident: ident, Kind: of | level}, &answer)
	none := errors.Is(err, pcp.ErrText) || err == nil && answer.Text == ""
	switch {
	case none && level == pcp.TextHelp:
		return r.text(ctx, op, ident, of, pcp.TextOneLine)
	case none && err == nil:
		return "", fmt.Errorf("pmapi: %s: %w", op, pcp.ErrText)
	case err != nil:
		return "", err
	}
	return answer.Text, nil
}
