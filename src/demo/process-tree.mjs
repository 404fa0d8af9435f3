/** The last resort when a process does not end when told to. */
import { execFile } from "node:child_process";

/**
 * Kills a process and all that came from it. Needs the `ps` of any POSIX system.
 *
 * @param {number} root
 */
export function killTree(root) {
  execFile("ps", ["-A", "-o", "pid=,ppid="], (_error, stdout) => {
    const pairs = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
    const doomed = [root];
    for (const parent of doomed) {
      for (const [pid, ppid] of pairs) if (ppid === parent) doomed.push(pid);
    }
    for (const pid of doomed.reverse()) killProcess(pid);
  });
}

function killProcess(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended on its own since it was listed.
  }
}
