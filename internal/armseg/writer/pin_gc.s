// That there is an assembly file lets functions without a body pass the compiler.
