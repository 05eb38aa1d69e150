import { mariaDbMissing } from "@leasehold/test-kit/backends/mariadb";
import { startMariaDbPlaces } from "../mysql-place.ts";
import { runOnServer } from "../run-on-server.ts";
import { MARIADB } from "./mysql-drivers.ts";

await runOnServer(`mysql (${MARIADB.name})`, mariaDbMissing(), {
  lacks: { watch: "MySQL cannot push" },
  start: () => startMariaDbPlaces(MARIADB),
});
