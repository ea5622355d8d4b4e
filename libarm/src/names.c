/* The user's file of names, which all processes of the user share. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

enum { PMCD_PORT = 44321, ADDR_IPV4_PORT = 2, ADDR_IPV6_PORT = 4, STEP = 64 << 10 };

static void put_address(struct seg_names *h, uint16_t format, const void *address, uint16_t len)
{
	h->addr_format = format;
	h->addr_len = len + 2;
	memcpy(h->address, address, len);
	h->address[len] = PMCD_PORT >> 8;
	h->address[len + 1] = PMCD_PORT & 255;
}

/* Takes an interface's address if it is better than the one that is there. True: no other can be
 * better. */
static bool use_address(struct seg_names *h, const struct ifaddrs *i)
{
	const struct sockaddr_in6 *six = (const void *)i->ifa_addr;
	const struct sockaddr_in *four = (const void *)i->ifa_addr;

	if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK))
		return false;
	if (i->ifa_addr->sa_family == AF_INET) {
		put_address(h, ADDR_IPV4_PORT, &four->sin_addr, 4);
		return true;
	}
	if (i->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) && !h->addr_len)
		put_address(h, ADDR_IPV6_PORT, &six->sin6_addr, 16);
	return false;
}

/* The address at which the agent of this host can be asked. */
static void host_address(struct seg_names *h)
{
	static const uint8_t loopback[4] = { 127, 0, 0, 1 };
	struct ifaddrs *all = NULL, *i;

	if (getifaddrs(&all))
		all = NULL;
	for (i = all; i && !use_address(h, i); i = i->ifa_next)
		;
	if (all)
		freeifaddrs(all);
	if (!h->addr_len)
		put_address(h, ADDR_IPV4_PORT, loopback, sizeof(loopback));
}

static void fill_plan(struct seg_names *h)
{
	memcpy(h->magic, SEG_MAGIC_NAMES, sizeof(h->magic));
	h->order = SEG_ORDER;
	h->major = SEG_MAJOR;
	h->minor = SEG_MINOR;
	h->header_len = sizeof(*h);
	h->app_len = sizeof(struct seg_app);
	h->tran_len = sizeof(struct seg_tran);
	h->uid = geteuid();
	h->app_max = APP_MAX;
	h->tran_max = TRAN_MAX;
	h->app_hash_len = APP_HASH_LEN;
	h->tran_hash_len = TRAN_HASH_LEN;
	h->app_hash_off = NAMES_APP_HASH;
	h->tran_hash_off = NAMES_TRAN_HASH;
	h->apps_off = NAMES_APPS;
	h->trans_off = NAMES_TRANS;
	h->size = NAMES_SIZE;
	h->state = SEG_READY;
}

/* Compares the fields from one up to another, which it leaves out. */
#define SAME(a, b, from, to) \
	(memcmp(&(a)->from, &(b)->from, offsetof(struct seg_names, to) - offsetof(struct seg_names, from)) == 0)

/* Compares the header of a file that another process made with the one that this process would make. */
static bool plan_is_ours(const struct seg_names *have)
{
	struct seg_names want;

	memset(&want, 0, sizeof(want));
	fill_plan(&want);
	return SAME(have, &want, magic, minor) && SAME(have, &want, header_len, nonce) &&
	       SAME(have, &want, uid, app_next) && SAME(have, &want, app_hash_len, addr_format) &&
	       SAME(have, &want, app_hash_off, language);
}

static void fill_header(struct seg_names *h)
{
	memset(h, 0, sizeof(*h));
	fill_plan(h);
	host_address(h);
	h->nonce = random_u64();
	h->language = SEG_LANGUAGE_C;
}

/* Gives a file its length, and room for the first part of it. */
static int lengthen(int fd, uint64_t room, bool *zeroed)
{
	int err = file_beyond_limit(NAMES_SIZE) ? EFBIG : 0;

	if (!err && ftruncate(fd, (off_t)NAMES_SIZE))
		err = errno;
	if (!err)
		err = file_allocate(fd, 0, room);
	*zeroed = err == EOPNOTSUPP || err == ENOSYS;
	return *zeroed ? file_zero(fd, 0, NAMES_SIZE) : err;
}

static int fill(int fd)
{
	struct seg_names h;
	bool zeroed;
	int err = lengthen(fd, NAMES_APPS, &zeroed);

	if (err)
		return err;
	fill_header(&h);
	return pwrite(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) ? 0 : EIO;
}

static int make(const char *dir, const char *name)
{
	struct new_file f;
	int at = open_dir(dir), err;

	if (at < 0)
		return errno;
	err = file_create(&f, at, FILE_MODE);
	if (!err)
		err = fill(f.fd);
	if (!err)
		err = file_publish(&f, name, false);
	if (err)
		file_abandon(&f);
	else
		close(f.fd);
	close(at);
	return err == EEXIST ? 0 : err;
}

static int open_own(const char *dir, const char *name, int *fd)
{
	int at = open_dir(dir), err;
	struct stat st;

	if (at < 0)
		return errno;
	*fd = openat(at, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	err = errno;
	close(at);
	if (*fd < 0)
		return err;
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 &&
	    (uint64_t)st.st_size >= NAMES_SIZE)
		return 0;
	close(*fd);
	return EPERM;
}

static void put_name(char *name)
{
	memcpy(put_number(name, geteuid(), 10, 1), ".names", sizeof(".names"));
}

static int join(struct names_file *f, const char *dir, const char *name)
{
	int fd, err = open_own(dir, name, &fd);

	if (err || (err = hold(&f->fd, fd)))
		return err;
	f->base = mmap(NULL, (size_t)NAMES_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd.fd, 0);
	err = errno;
	if (f->base != MAP_FAILED) {
		madvise(f->base, (size_t)NAMES_SIZE, MADV_DONTDUMP);
		if (plan_is_ours((const struct seg_names *)f->base))
			return 0;
		err = EPROTO;
	} else {
		f->base = NULL;
	}
	names_close(f);
	return err;
}

/* A child looks first for the file of its parent, which may have another name. */
int names_open(struct names_file *f, const char *dir, bool create)
{
	int err;

	f->base = NULL;
	f->own = false;
	if (f->name[0] == '.' && (!(err = join(f, dir, f->name)) || !create))
		return err;
	put_name(f->name);
	err = join(f, dir, f->name);
	if (err != ENOENT || !create)
		return err;
	err = make(dir, f->name);
	return err ? err : join(f, dir, f->name);
}

/* Sets up names in memory, the parent's or new ones. They become a file of this process alone. */
int names_own(struct names_file *f, char *parents)
{
	f->base = parents;
	f->own = true;
	f->name[0] = 0;
	if (parents) {
		((struct seg_names *)f->base)->nonce = random_u64();
		return 0;
	}
	f->base = mmap(NULL, (size_t)NAMES_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->base == MAP_FAILED) {
		f->base = NULL;
		return ENOMEM;
	}
	madvise(f->base, (size_t)NAMES_SIZE, MADV_DONTDUMP);
	madvise(f->base, (size_t)NAMES_SIZE, MADV_NOHUGEPAGE);
	fill_header((struct seg_names *)f->base);
	return 0;
}

/* How much of names in memory is in use, up to the end of a step. */
static uint64_t used(const struct names_file *f)
{
	uint64_t n = ((struct seg_names *)f->base)->tran_next;
	uint64_t end = NAMES_TRANS + n * sizeof(struct seg_tran);

	end = (end + STEP - 1) / STEP * STEP;
	return end < NAMES_SIZE ? end : NAMES_SIZE;
}

/* Makes a file that names in memory can move to. The process may have become another user meanwhile. */
int names_make(struct names_file *f, int dir, struct new_file *n)
{
	int err = file_create(n, dir, FILE_MODE);

	((struct seg_names *)f->base)->uid = geteuid();
	if (!err)
		err = lengthen(n->fd, used(f), &f->zeroed);
	if (!err) {
		err = hold(&f->fd, n->fd);
		n->fd = err ? -1 : f->fd.fd;
	}
	if (err)
		file_abandon(n);
	return err;
}

int names_under(struct names_file *f)
{
	uint64_t len = used(f);
	int err = file_put_under(f->base, len, f->fd.fd, 0);

	if (!err && len < NAMES_SIZE &&
	    mmap(f->base + len, (size_t)(NAMES_SIZE - len), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, f->fd.fd, (off_t)len) == MAP_FAILED)
		err = errno;
	if (!err) {
		madvise(f->base, (size_t)NAMES_SIZE, MADV_DONTDUMP);
		f->own = false;
	}
	return err;
}

/* The user may already have a file of names, with other numbers. Then this file gets the name of one that
 * only the processes use which have its names. The agent removes such a file when they have ended. */
int names_publish(struct names_file *f, struct new_file *n)
{
	char *p;
	int err;

	put_name(f->name);
	err = file_publish(n, f->name, false);
	if (err != EEXIST)
		return err;
	memcpy(f->name, ".aside-", sizeof(".aside-"));
	p = put_number(f->name + strlen(f->name), geteuid(), 10, 1);
	*p++ = '-';
	put_number(p, ((struct seg_names *)f->base)->nonce, 16, 16);
	return file_publish(n, f->name, false);
}

void names_close(struct names_file *f)
{
	if (f->base)
		munmap(f->base, (size_t)NAMES_SIZE);
	f->base = NULL;
	let_go(&f->fd);
}

/* Reports whether the file still has the name by which processes find it. */
bool names_named(const struct names_file *f, const char *dir)
{
	int at = open_dir(dir);
	struct stat st;
	bool is;

	is = at >= 0 && fstatat(at, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == f->fd.dev && st.st_ino == f->fd.ino;
	if (at >= 0)
		close(at);
	return is;
}

/* Opens the file again if the program has closed its descriptor. */
static int reopen(struct names_file *f, const char *dir)
{
	struct held h;
	int fd, err;

	if (holds(&f->fd))
		return 0;
	err = open_own(dir, f->name, &fd);
	if (err || (err = hold(&h, fd)))
		return err;
	if (h.dev == f->fd.dev && h.ino == f->fd.ino) {
		f->fd.fd = h.fd;
		return 0;
	}
	let_go(&h);
	return ENOENT;
}

/* Makes sure that a record has room. If it has room already, nothing changes. */
int names_back(struct names_file *f, const char *dir, uint64_t off, uint64_t len)
{
	uint64_t from = off / STEP * STEP, to = (off + len + STEP - 1) / STEP * STEP;
	int err;

	if (f->zeroed || f->own)
		return 0;
	if ((err = reopen(f, dir)))
		return err;
	err = file_allocate(f->fd.fd, from, (to < NAMES_SIZE ? to : NAMES_SIZE) - from);
	if (err != EOPNOTSUPP && err != ENOSYS)
		return err;
	f->zeroed = true; /* its maker has written it all */
	return 0;
}
