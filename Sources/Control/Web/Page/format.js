// Numbers, sizes and times in words.

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function size(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export function rate(bytesPerSecond) {
  return `${size(Math.round(bytesPerSecond))}/s`;
}

export function count(number, one, many) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function duration(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** The time since a date of the API. */
export function since(date) {
  return duration((Date.now() - Date.parse(date)) / 1000);
}

export function nameOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
