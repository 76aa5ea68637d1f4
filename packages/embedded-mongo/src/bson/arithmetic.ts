import { Double, Int32, Long } from 'bson';
import { type NumberValue, numeric } from './value.ts';

const INT32_MIN = -(2n ** 31n);
const INT32_MAX = 2n ** 31n - 1n;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

type Operation = 'add' | 'subtract' | 'multiply';

/**
 * The result in the wider of both types: a double when either is one, else an int while both are ints and it fits, else a long.
 *
 * @returns undefined when an integer result does not fit 64 bits.
 */
export function calculate(operation: Operation, a: NumberValue, b: NumberValue): NumberValue | undefined {
  if (a instanceof Double || b instanceof Double) return new Double(onNumbers(operation, toNumber(a), toNumber(b)));
  const result = onIntegers(operation, BigInt(numeric(a)), BigInt(numeric(b)));
  if (a instanceof Int32 && b instanceof Int32 && result >= INT32_MIN && result <= INT32_MAX) return new Int32(Number(result));
  return result >= INT64_MIN && result <= INT64_MAX ? Long.fromBigInt(result) : undefined;
}

/** As {@link calculate}, but an integer result beyond 64 bits becomes a double: the rule of aggregation expressions. */
export function calculateWidening(operation: Operation, a: NumberValue, b: NumberValue): NumberValue {
  return calculate(operation, a, b) ?? new Double(onNumbers(operation, toNumber(a), toNumber(b)));
}

/**
 * A sum of any numbers: exact while all are integers; with doubles the rounding errors are carried along (Neumaier), as MongoDB does, so that the
 * result does not depend on the order.
 */
export class NumberSum {
  #integers = 0n;
  #isInt32 = true;
  #hasDouble = false;
  #double = 0;
  #compensation = 0;

  add(value: NumberValue): void {
    if (value instanceof Double) {
      this.#hasDouble = true;
      this.#addDouble(value.value);
      return;
    }
    this.#integers += BigInt(numeric(value));
    this.#isInt32 &&= value instanceof Int32;
  }

  result(): NumberValue {
    if (!this.#hasDouble) {
      if (this.#isInt32 && this.#integers >= INT32_MIN && this.#integers <= INT32_MAX) return new Int32(Number(this.#integers));
      if (this.#integers >= INT64_MIN && this.#integers <= INT64_MAX) return Long.fromBigInt(this.#integers);
      return new Double(Number(this.#integers));
    }
    const total = new NumberSum();
    total.#double = this.#double;
    total.#compensation = this.#compensation;
    const rounded = Number(this.#integers);
    total.#addDouble(rounded);
    total.#addDouble(Number(this.#integers - BigInt(rounded)));
    const sum = total.#double + total.#compensation;
    return new Double(Number.isNaN(sum) ? total.#double : sum);
  }

  #addDouble(value: number): void {
    const sum = this.#double + value;
    this.#compensation += Math.abs(this.#double) >= Math.abs(value) ? this.#double - sum + value : value - sum + this.#double;
    this.#double = sum;
  }
}

/** The nearest double. */
export function toNumber(value: NumberValue): number {
  return value instanceof Long ? value.toNumber() : value.value;
}

/** The value when it is a whole number within ±2^53, whatever its BSON type; else undefined. */
export function toSafeInteger(value: unknown): number | undefined {
  if (!(value instanceof Int32 || value instanceof Double || value instanceof Long)) return undefined;
  const result = toNumber(value);
  return Number.isSafeInteger(result) ? result : undefined;
}

/** A count as MongoDB answers it: an int while it fits, else a long. */
export function integerValue(value: number): NumberValue {
  return value >= -(2 ** 31) && value < 2 ** 31 ? new Int32(value) : Long.fromNumber(value);
}

function onNumbers(operation: Operation, a: number, b: number): number {
  if (operation === 'add') return a + b;
  return operation === 'subtract' ? a - b : a * b;
}

function onIntegers(operation: Operation, a: bigint, b: bigint): bigint {
  if (operation === 'add') return a + b;
  return operation === 'subtract' ? a - b : a * b;
}
