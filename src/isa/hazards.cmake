set(ISA_HAZARD_SOURCES hazards.c hazards_value.c hazards_survey.c hazards_walk.c hazards_access.c hazards_pairs.c hazards_graph.c
  hazards_clock.c hazards_say.c)
