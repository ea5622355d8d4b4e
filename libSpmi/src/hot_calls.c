/* The functions for hotsets. */
#include <string.h>

#include "reader.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct SpmiHotSet *SpmiCreateHotSet(void)
{
	return set_create(true, false);
}

struct SpmiHotSet *SpmiCreateHotSet_time64(void);

/* The function that Spmidef.h substitutes where struct timeval is wider than here. */
EXPORT struct SpmiHotSet *SpmiCreateHotSet_time64(void)
{
	return set_create(true, true);
}

EXPORT int SpmiFreeHotSet(struct SpmiHotSet *HotSet)
{
	return set_end(HotSet, true);
}

static struct hot *add(struct SpmiHotSet *pub, const char *name, SpmiCxHdl grandparent,
		       const struct SpmiHotVals *arguments)
{
	struct set *s = set_of(pub, true);
	struct node *n = s ? node_of(grandparent) : NULL;

	if (!n)
		return NULL;
	if (!name || !*name) {
		spmi_fail(SiBadArgument, "the statistic has no name");
		return NULL;
	}
	if (!node_is(n)) {
		spmi_fail(SiDeleted, "context %s is deleted", n->pub.name);
		return NULL;
	}
	return hot_add(s, n, name, arguments);
}

EXPORT struct SpmiHotVals *SpmiAddSetHot(struct SpmiHotSet *HotSet, const char *StatName, SpmiCxHdl GrandParent,
					 int maxresp, int threshold, int frequency, int feed_type, int excp_type,
					 int severity, int trap_no)
{
	struct SpmiHotVals arguments;
	struct read_entry st;
	struct hot *h = NULL;

	if (read_enter(&st))
		return NULL;
	memset(&arguments, 0, sizeof(arguments));
	arguments.except_type = (enum HotExcept)excp_type;
	arguments.feed_type = (enum HotFeed)feed_type;
	arguments.threshold = threshold;
	arguments.max_responses = (short)maxresp;
	arguments.severity = (short)severity;
	arguments.trap_no = (short)trap_no;
	arguments.frequency = excp_type == SiHotNoException ? 0 : (short)frequency;
	if (!hot_check(&arguments, maxresp, frequency, severity, trap_no) && !reader_ready_to_ask())
		h = add(HotSet, StatName, GrandParent, &arguments);
	read_leave(&st);
	return h ? &h->pub : NULL;
}

EXPORT int SpmiDelSetHot(struct SpmiHotSet *HotSet, struct SpmiHotVals *HotVal)
{
	struct read_entry st;
	struct hot *h;
	struct set *s;
	int err = read_enter(&st);

	if (err)
		return err;
	err = reader_ready();
	if (!err && (s = set_of(HotSet, true)) && (h = hot_of(s, HotVal))) {
		if (h->owner)
			spmi_fail(SiBadArgument, "the library has made this SpmiHotVals: delete that of context %s", h->owner->pub.path);
		else if (--h->pub.ref_count == 0)
			hot_free(s, h);
	}
	err = spmi_collected();
	read_leave(&st);
	return err;
}

EXPORT int SpmiGetHotSet(struct SpmiHotSet *HotSet, int Force)
{
	struct read_entry st;
	struct set *s;
	int err = read_enter(&st);

	if (err)
		return err;
	err = reader_ready();
	if (!err && (s = set_of(HotSet, true)) && set_stale(s, Force != 0))
		hot_read(s);
	err = spmi_collected();
	read_leave(&st);
	return err;
}

EXPORT struct SpmiHotVals *SpmiFirstHot(struct SpmiHotSet *HotSet)
{
	struct read_entry st;
	struct hot *h = NULL;
	struct set *s;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready() && (s = set_of(HotSet, true)))
		h = hot_shown(s->hots);
	read_leave(&st);
	return h ? &h->pub : NULL;
}

EXPORT struct SpmiHotVals *SpmiNextHot(struct SpmiHotSet *HotSet, struct SpmiHotVals *HotVals)
{
	struct read_entry st;
	struct hot *h = NULL;
	struct set *s;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready() && (s = set_of(HotSet, true)) && (h = hot_of(s, HotVals)))
		h = hot_shown(h->next);
	read_leave(&st);
	return h ? &h->pub : NULL;
}

/* Finds the set of peers that has the item at *index. Skips sets without items. */
static struct hot *with_item(struct set *s, struct SpmiHotVals *pub, int *index)
{
	struct hot *h = pub ? hot_of(s, pub) : hot_shown(s->hots);

	if (!pub || (h && h->group)) {
		h = hot_shown(h);
		*index = 0;
	}
	while (h && *index >= h->pub.count) {
		h = hot_shown(h->next);
		*index = 0;
	}
	return h;
}

EXPORT struct SpmiHotVals *SpmiNextHotItem(struct SpmiHotSet *HotSet, struct SpmiHotVals *HotVals, int *index,
					   float *value, char **name)
{
	struct read_entry st;
	struct hot *h = NULL;
	struct set *s;

	if (read_enter(&st))
		return NULL;
	if (!index || !value || !name)
		spmi_fail(SiBadArgument, "there is no place for index, value or name");
	else if (HotVals && *index < 0)
		spmi_fail(SiBadArgument, "index %d: want 0 or more", *index);
	else if (!reader_ready() && (s = set_of(HotSet, true)) && (h = with_item(s, HotVals, index))) {
		*value = h->values[*index];
		*name = h->pub.items[(*index)++].name;
	}
	read_leave(&st);
	return h ? &h->pub : NULL;
}
