BEGIN { print "#include <stddef.h>\n#include \"layout.h\"" }
/^#/ || NF == 0 { next }
$2 == "-" { printf "_Static_assert(sizeof(struct seg_%s) == %s, \"%s\");\n", $1, $4, $0; next }
{ printf "_Static_assert(offsetof(struct seg_%s, %s) == %s && sizeof(((struct seg_%s *)0)->%s) == %s, \"%s\");\n", $1, $2, $3, $1, $2, $4, $0; n++ }
END { if (n < 140) print "#error too few fields"; print "int main(void) { return 0; }" }
