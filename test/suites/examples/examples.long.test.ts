/** Every example is installed from the packed packages, and run as its README says. One file, for the packing takes long. */
import "./worker.ts";
import "./queue.ts";
import "./nestjs.ts";
import "./clouds.ts";
