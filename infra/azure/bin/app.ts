import { fileURLToPath } from "node:url";
import { synthesize } from "@leasehold/infra-azure";
import { App } from "cdktn";
import { LeaseholdStack } from "./leasehold-stack.ts";

const app = new App({ outdir: fileURLToPath(new URL("../cdktf.out", import.meta.url)) });
new LeaseholdStack(app, "leasehold");
synthesize(app);
