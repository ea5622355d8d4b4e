package probe

func (*linuxEngine) name() string { return EngineLinux }
