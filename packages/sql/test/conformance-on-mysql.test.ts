import { mariaDbMissing } from "@leasehold/test-kit/backends/mariadb";
import { startMariaDbPlaces } from "./mysql-place.ts";
import { runOnServer } from "./run-on-server.ts";

await runOnServer("mysql (MariaDB)", mariaDbMissing(), {
  lacks: { watch: "MySQL cannot push" },
  start: () => startMariaDbPlaces(),
});
