// SPDX-License-Identifier: MIT
// test_errors.hpp - an expectation on what an error says.
#pragma once

#include <gtest/gtest.h>

#include <string>

/// `statement` throws exactly `Type`, and its message contains `words`.
#define EXPECT_THROWS_SAYING(statement, Type, words)                                       \
  do {                                                                                     \
    try {                                                                                  \
      (void)(statement);                                                                   \
      ADD_FAILURE() << #statement " throws nothing";                                       \
    } catch (const Type& error) {                                                          \
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what(); \
    }                                                                                      \
  } while (false)
