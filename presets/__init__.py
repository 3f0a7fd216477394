"""Materials and solver settings as data; `materials.json` names the source of every number."""
